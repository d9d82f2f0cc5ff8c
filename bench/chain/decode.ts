import { parseArgs } from 'node:util';
import { encodeAbiParameters } from 'viem/utils';
import { LogDecoder } from '../../src/chain/evm/decode/decoder.ts';
import type { Log } from '../../src/chain/evm/rpc/types.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
import type { StatedToken } from '../../src/domain/chain/tokens.ts';
import type { FollowedSource } from '../../src/store/chain/network-store.ts';
import { PAYEE, presetLog, sourceOf, TOKEN, word } from '../../test/support/chain/logs.ts';

/**
 * How many logs a second of CPU time decodes, each with another payer, transaction and amount:
 * `npx bun bench/chain/decode.ts --logs 50000`.
 */

const { values } = parseArgs({ options: { logs: { type: 'string', default: '50000' } } });
const COUNT = Number(values.logs);
const ROUNDS = 5;

const address = (number: number) => `0x${word(number).slice(26)}` as const;

/** Written from one log, because encoding takes longer than decoding. */
function manyOf(log: Log, change: (number: number) => Partial<Log>): Log[] {
  return Array.from({ length: COUNT }, (_, n) => ({
    ...log,
    transactionHash: word(n + 1),
    blockNumber: 100 + Math.floor(n / 10),
    logIndex: n % 10,
    ...change(n),
  }));
}

const CASES: Readonly<Record<string, { readonly logs: readonly Log[]; readonly sources: readonly FollowedSource[] }>> =
  {
    'erc20, one source': erc20(1),
    'erc20, 1,000 sources of one token': erc20(1_000),
    loop: {
      logs: manyOf(presetLog('loop', [TOKEN, 'x', true, true, TOKEN, PAYEE, 1n, 1n, '0x']), (n) => ({
        data: encodeAbiParameters(
          ['string', 'bool', 'bool', 'address', 'address', 'uint256', 'uint256', 'bytes'].map((type) => ({ type })),
          [`invoice-${n}`, true, true, TOKEN, address(n * 7_919 + 1), BigInt(n), 1n, '0x'],
        ),
      })),
      sources: [sourceOf({ preset: 'loop', where: { token: [TOKEN] } })],
    },
  };

function erc20(sources: number) {
  const payees = Array.from({ length: sources }, (_, n) => address(n + 1));
  const log = presetLog('erc20', [TOKEN, PAYEE, 5n]);
  const [topic = ''] = log.topics;
  return {
    logs: manyOf(log, (n) => ({
      topics: [topic, word(n * 7_919 + 1), word((n % sources) + 1)],
      data: word(1_000_000 + n),
    })),
    sources: payees.map((payee, n) => sourceOf({ preset: 'erc20', where: { to: [payee] } }, { entityId: `ent_${n}` })),
  };
}

for (const [name, { logs, sources }] of Object.entries(CASES)) {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const tokens = { read: async () => new Map<string, StatedToken>(), save: async () => undefined };
    const decoder = new LogDecoder({ tokens, callContract: async () => ({ data: word(6) }) });
    const before = process.cpuUsage();
    const facts = await decoder.decode(logs, sources);
    const { user, system } = process.cpuUsage(before);
    if (facts.length !== logs.length) throw new Error(`${facts.length} facts of ${logs.length} logs`);
    rates.push(Math.round((COUNT * 1_000_000) / (user + system)));
  }
  rates.sort((a, b) => a - b);
  const [lowest, highest] = [rates[0], rates.at(-1)];
  printLine(
    `${name}: ${rates[Math.floor(ROUNDS / 2)]} logs per CPU second (median of ${ROUNDS}, ${lowest} to ${highest})`,
  );
}
