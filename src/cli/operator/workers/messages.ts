import { z } from 'zod';

/**
 * Messages between the processes of one service, over the channel that ties each worker to its supervisor. `id` joins a
 * request and its result.
 *
 *     worker                       supervisor                     every worker
 *       ── started ────────────────────▶
 *       ── scrape ─────────────────────▶ ── report ─────────────────▶
 *                                        ◀───────────────── text ────
 *       ◀──────────────────── scraped ──
 */

const started = z.object({
  type: z.literal('started'),
  url: z.string(),
  firstEntity: z.object({ entityId: z.string(), apiKey: z.string() }).nullable(),
});
const id = z.int();
const text = z.string();

const fromWorker = z.discriminatedUnion('type', [
  started,
  z.object({ type: z.literal('scrape'), id }),
  z.object({ type: z.literal('text'), id, text }),
]);
const fromSupervisor = z.discriminatedUnion('type', [
  z.object({ type: z.literal('report'), id }),
  z.object({ type: z.literal('scraped'), id, text }),
]);

export type Started = z.output<typeof started>;
export type FromWorker = z.output<typeof fromWorker>;
export type FromSupervisor = z.output<typeof fromSupervisor>;

/** Null for an unknown message, as from a process of another version. */
export function readFromWorker(message: unknown): FromWorker | null {
  return fromWorker.safeParse(message).data ?? null;
}

export function readFromSupervisor(message: unknown): FromSupervisor | null {
  return fromSupervisor.safeParse(message).data ?? null;
}
