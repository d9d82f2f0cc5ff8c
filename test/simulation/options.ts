import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { FamilyName } from './fleet/new-network.ts';
import type { Job } from './job.ts';

/** What the command line asks for. */
export type Options = {
  readonly seeds: readonly number[];
  readonly network: FamilyName;
  readonly operations: number;
  readonly engine: Job['engine'];
  /** Null for one and two by turns. */
  readonly instances: number | null;
  readonly only: readonly number[] | undefined;
  readonly isTraced: boolean;
  /** The law whose failures are shrunk, or `first`. */
  readonly shrinks: string | undefined;
  /** The law whose first failure ends the run, or `first`. */
  readonly stopsAt: string | undefined;
  readonly processes: number;
  readonly out: string | undefined;
  readonly isJson: boolean;
  readonly showsMatrix: boolean;
};

export const HELP = `Usage: npm run simulate -- [options]

  --seed N              run one seed
  --seeds A..B          run these seeds (1..20)
  --network NAME        evm or solana (evm)
  --operations N        operations of each run (120)
  --engine NAME         sqlite or postgres (sqlite)
  --instances N         instances of the service; one and two by turns if not given
  --only I,J,K          carry out only these operations of the list
  --shrink [LAW]        find the shortest list that still breaks the first broken law, or the law given, such as L5
  --stop [LAW]          end at the first seed that breaks any law, or the law given, or comes to no verdict
  --trace               print everything that happens
  --matrix              print the pairs of operations that never met within one event or payment
  --processes N         runs at the same time (the number of cores)
  --out FILE            append each result to a file; seeds that it has are not run again
  --json                print the results as JSON
`;

/** An error of the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const { engine = 'sqlite', network = 'evm' } = values;
  if (engine !== 'sqlite' && engine !== 'postgres')
    throw new UsageError(`--engine is sqlite or postgres, not ${engine}`);
  if (network !== 'evm' && network !== 'solana') throw new UsageError(`--network is evm or solana, not ${network}`);
  return {
    network,
    seeds: values.seed === undefined ? rangeOf(values.seeds ?? '1..20') : [wholeNumber('--seed', values.seed)],
    operations: wholeNumber('--operations', values.operations ?? '120'),
    engine,
    instances: values.instances === undefined ? null : wholeNumber('--instances', values.instances),
    only: values.only === undefined ? undefined : values.only.split(',').map((one) => wholeNumber('--only', one)),
    isTraced: values.trace === true,
    shrinks: values.shrink,
    stopsAt: values.stop,
    processes: wholeNumber('--processes', values.processes ?? String(availableParallelism())),
    out: values.out,
    isJson: values.json === true,
    showsMatrix: values.matrix === true,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    ...{ seed: text, seeds: text, network: text, operations: text, engine: text, instances: text, only: text },
    ...{ shrink: text, stop: text, processes: text, out: text, trace: flag, matrix: flag, json: flag },
  };
  try {
    return parseArgs({ args: withLaws(args), options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const WITH_LAW = ['--shrink', '--stop'];

/** Without a law, these options mean the first law that is broken. */
function withLaws(args: readonly string[]): string[] {
  return args.flatMap((one, at) => {
    const hasValue = args[at + 1] !== undefined && !args[at + 1]?.startsWith('--');
    return WITH_LAW.includes(one) && !hasValue ? [one, 'first'] : one;
  });
}

function rangeOf(text: string): number[] {
  const [from, to] = text.split('..').map((one) => wholeNumber('--seeds', one));
  if (from === undefined || to === undefined || to < from)
    throw new UsageError(`--seeds is a range such as 1..100, not ${text}`);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new UsageError(`${name} takes whole numbers, not ${text}`);
  return number;
}
