import { SQL } from 'bun';
import { FAN_OUT, TO_ONE, TO_TEN } from '../delivery/accept-and-deliver.ts';
import type { Caller } from '../harness/paybell-api.ts';
import type { Server } from '../harness/processes.ts';
import { cpuSeconds, postgresCpuSeconds } from '../harness/processor-time.ts';

/** A service that takes events over HTTP and delivers each to one receiver or to ten, by its kind. */
export type Peer = {
  readonly name: string;
  /** What an acknowledged event survives. */
  readonly durability: string;
  readonly server: Server;
  readonly startMs: number;
  /** In headers that only Paybell reads. */
  readonly caller: Caller;
  readonly request: (event: string) => EventRequest;
  /** Of all its processes together, those of its stores included. */
  readonly cpuSeconds: () => Promise<number>;
};

export type EventRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Templates of `harness/event-bodies.ts`. */
  readonly bodies: readonly string[];
};

export const JSON_TYPE = { 'content-type': 'application/json' };
export const NOBODY: Caller = { entityId: '-', apiKey: '-' };

/** The receivers of each kind of event. */
export function routesTo(urls: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return { [TO_ONE.event]: urls.slice(0, 1), [TO_TEN.event]: urls.slice(0, FAN_OUT) };
}

export async function timed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const startedAtMs = performance.now();
  const result = await work();
  return [result, performance.now() - startedAtMs];
}

export async function cpuOf(...processes: { readonly pid: number }[]): Promise<number> {
  return processes.reduce((sum, { pid }) => sum + (cpuSeconds(pid) ?? Number.NaN), 0);
}

/** Only one of the peers is busy at a time, so that what PostgreSQL does is done for that one. */
export function withPostgres(databaseUrl: string, own: () => Promise<number>): () => Promise<number> {
  const sql = new SQL(databaseUrl, { max: 1 });
  return async () => (await own()) + ((await postgresCpuSeconds(sql)) ?? Number.NaN);
}
