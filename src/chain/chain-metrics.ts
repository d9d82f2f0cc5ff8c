import type { Counter, Family, Registry } from '../metrics/registry.ts';
import type { OnSkipped } from './evm/decode/decoder.ts';
import type { NetworkHealth, PollResult } from './follow/poll-result.ts';
import type { OnCall } from './rpc/node.ts';

/** Buckets for the depths of reorgs, in blocks. */
const DEPTHS = [1, 2, 4, 8, 16, 32, 64] as const;

/** The metrics of the networks that this instance follows. A node is named by its place in the setting, never by its URL. */
export class ChainMetrics {
  readonly #polls: Family<Counter>;
  readonly #calls: Family<Counter>;
  readonly #facts: Family<Counter>;
  readonly #reorgs: Family<Counter>;
  readonly #omissions: Family<Counter>;
  readonly #skipped: Family<Counter>;
  readonly #lag = new Map<number, number>();
  readonly #halted = new Map<number, number>();
  readonly #health = new Map<number, NetworkHealth>();

  constructor(registry: Registry) {
    this.#polls = registry.counters('paybell_chain_polls_total', 'Polls of a network, by outcome.', [
      'network',
      'outcome',
    ]);
    this.#calls = registry.counters(
      'paybell_chain_calls_total',
      'JSON-RPC calls, by node, method, purpose and outcome.',
      ['node', 'method', 'purpose', 'outcome'],
    );
    this.#facts = registry.counters(
      'paybell_chain_facts_total',
      'Changes of facts: seen, moved, lost, retracted, again, and judged by the votes of nodes.',
      ['network', 'change'],
    );
    this.#reorgs = registry.counters(
      'paybell_chain_reorgs_total',
      'Reorgs that replaced blocks already read, by their depth in blocks.',
      ['network', 'depth'],
    );
    this.#omissions = registry.counters(
      'paybell_chain_omissions_total',
      'Logs that a node left out of a response, although the network did not replace their block.',
      ['network'],
    );
    this.#skipped = registry.counters(
      'paybell_chain_skipped_logs_total',
      'Logs of a source that were skipped, counted each time they were read: undecodable, unproved, or of an invalid definition.',
      ['network', 'reason'],
    );
    this.#registerHealth(registry);
    const byNetwork = (values: ReadonlyMap<number, number>) => () =>
      [...values].map(([networkId, value]): [string[], number] => [[String(networkId)], value]);
    registry.readLabelled(
      'paybell_chain_lag_blocks',
      'Blocks between the head of a network and the last block that was read.',
      ['network'],
      byNetwork(this.#lag),
    );
    registry.readLabelled(
      'paybell_chain_halted',
      '1 while a network is halted: it replaced final blocks, and waits for the operator.',
      ['network'],
      byNetwork(this.#halted),
    );
  }

  #registerHealth(registry: Registry): void {
    const gauge = (name: string, help: string, read: (health: NetworkHealth) => number | null) =>
      registry.readLabelled(name, help, ['network'], () =>
        [...this.#health].flatMap(([networkId, health]) => {
          const value = read(health);
          return value === null ? [] : [[[String(networkId)], value] as [string[], number]];
        }),
      );
    const ageS = (timestampS: number | null) =>
      timestampS === null ? null : Math.max(0, Date.now() / 1000 - timestampS);
    gauge('paybell_chain_head_age_seconds', 'Age of the newest block, by its timestamp.', ({ headS }) => ageS(headS));
    gauge(
      'paybell_chain_final_age_seconds',
      'Age of the newest final block, estimated by the block time.',
      ({ finalS }) => ageS(finalS),
    );
    gauge(
      'paybell_chain_witnesses',
      'Nodes that keep up and report the final block.',
      ({ nodes }) => nodes.filter(({ state }) => state === 'ok').length,
    );
    gauge(
      'paybell_chain_disputed_payments',
      'Payments that are not final yet and on which nodes are tied, up to 100.',
      ({ disputed }) => disputed,
    );
    registry.readLabelled(
      'paybell_chain_node_behind_blocks',
      'Blocks from the head of a node to the highest head at that moment.',
      ['node'],
      () =>
        [...this.#health.values()].flatMap(({ nodes }) =>
          nodes.map(({ name, behindBlocks }): [string[], number] => [[name], behindBlocks ?? 0]),
        ),
    );
  }

  readonly noteCall: OnCall = (node, method, purpose, outcome) => this.#calls.of(node, method, purpose, outcome).inc();

  readonly noteSkipped: OnSkipped = (networkId, reason) => this.#skipped.of(networkId, reason).inc();

  notePoll(networkId: number, result: PollResult): void {
    const { outcome, omissions, reorgDepth, lagBlocks } = result;
    this.#polls.of(networkId, outcome).inc();
    if (outcome === 'idle') {
      // Another instance follows the network, and its metrics have the state.
      this.#lag.delete(networkId);
      this.#halted.delete(networkId);
      this.#health.delete(networkId);
      return;
    }
    if (result.network !== null) this.#health.set(networkId, result.network);
    this.#lag.set(networkId, lagBlocks);
    this.#halted.set(networkId, outcome === 'halted' ? 1 : 0);
    for (const change of ['seen', 'moved', 'lost', 'retracted', 'again', 'judged'] as const) {
      if (result[change] > 0) this.#facts.of(networkId, change).inc(result[change]);
    }
    if (omissions > 0) this.#omissions.of(networkId).inc(omissions);
    if (reorgDepth > 0) this.#reorgs.of(networkId, depthLabel(reorgDepth)).inc();
  }
}

function depthLabel(depth: number): string {
  const bound = DEPTHS.find((each) => depth <= each);
  return bound === undefined ? 'more' : String(bound);
}
