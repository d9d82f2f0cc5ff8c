import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import solcPackage from 'solc/package.json' with { type: 'json' };

const ROOT = resolve(import.meta.dir, '../../..');
const CONTRACTS = join(import.meta.dir, 'contracts');

export type Contract = {
  /** The code that creates the contract, in hex with 0x. */
  readonly bytecode: string;
  /** The four bytes that select each function, in hex without 0x, by signature such as `mint(address,uint256)`. */
  readonly selectors: Readonly<Record<string, string>>;
};
export type Contracts = Readonly<Record<string, Contract>>;

type Compiled = {
  readonly errors?: readonly { severity: string; formattedMessage: string }[];
  readonly contracts: Record<
    string,
    Record<string, { evm: { bytecode: { object: string }; methodIdentifiers: Record<string, string> } }>
  >;
};

/** Every contract of `contracts/` by name. A second process with the same sources reads what the first has compiled. */
export async function compileContracts(): Promise<Contracts> {
  const sources = Object.fromEntries(
    readdirSync(CONTRACTS)
      .filter((file) => file.endsWith('.sol'))
      .sort()
      .map((file) => [file, { content: readFileSync(join(CONTRACTS, file), 'utf8') }]),
  );
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.methodIdentifiers'] } },
    },
  };
  const text = JSON.stringify(input);
  const hash = new Bun.CryptoHasher('sha256').update(`${solcPackage.version}\n${text}`).digest('hex');
  const folder = join(ROOT, 'node_modules/.cache/paybell-contracts');
  const cached = Bun.file(join(folder, `${hash}.json`));
  if (await cached.exists()) return (await cached.json()) as Contracts;
  const contracts = await compile(text);
  mkdirSync(folder, { recursive: true });
  // Written aside and renamed, so that a process beside this one never reads half of a file.
  const written = join(folder, `${hash}.${process.pid}.tmp`);
  writeFileSync(written, JSON.stringify(contracts));
  renameSync(written, join(folder, `${hash}.json`));
  return contracts;
}

/** Loads the compiler only when there is something to compile: it takes a second. */
async function compile(input: string): Promise<Contracts> {
  const { default: solc } = await import('solc');
  const { errors = [], contracts } = JSON.parse(solc.compile(input)) as Compiled;
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  return Object.fromEntries(
    Object.values(contracts).flatMap((file) =>
      Object.entries(file).map(([name, { evm }]) => [
        name,
        { bytecode: `0x${evm.bytecode.object}`, selectors: evm.methodIdentifiers },
      ]),
    ),
  );
}
