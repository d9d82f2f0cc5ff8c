import type { FollowedSource, SourceCost } from '../../store/chain/network-store.ts';

/** How often the costs are stored. An instance that dies loses the costs since then. */
const WRITE_EVERY_MS = 60_000;
/** Limit on the sources whose costs one step stores. The next steps store the others. */
const MAX_WRITTEN = 500;

/** Writable, because every request changes the counts of every source of the network. */
type Counted = { -readonly [Name in keyof SourceCost]: SourceCost[Name] };

/** Counts the costs of each source: the requests that asked for its logs, and the logs that nodes sent for it. */
export class SourceMeter {
  readonly #costs = new Map<string, Counted>();
  #writtenAtMs: number | null = null;

  noteRequest(sources: readonly FollowedSource[]): void {
    for (const source of sources) this.#add(source, 1, 0);
  }

  noteLogs(source: FollowedSource, logs: number): void {
    this.#add(source, 0, logs);
  }

  readonly noteLog = (source: FollowedSource): void => this.#add(source, 0, 1);

  /** The costs to store with the next step; none before a minute has passed. */
  due(nowMs: number): readonly SourceCost[] {
    this.#writtenAtMs ??= nowMs;
    return nowMs - this.#writtenAtMs < WRITE_EVERY_MS ? [] : [...this.#costs.values()].slice(0, MAX_WRITTEN);
  }

  /** Call it after the step that has stored these costs. */
  noteWritten(costs: readonly SourceCost[], nowMs: number): void {
    for (const { sourceId } of costs) this.#costs.delete(sourceId);
    if (costs.length > 0 && this.#costs.size === 0) this.#writtenAtMs = nowMs;
  }

  #add({ entityId, sourceId }: FollowedSource, requests: number, logs: number): void {
    let counted = this.#costs.get(sourceId);
    if (counted === undefined) {
      counted = { entityId, sourceId, requests: 0, logs: 0 };
      this.#costs.set(sourceId, counted);
    }
    counted.requests += requests;
    counted.logs += logs;
  }
}
