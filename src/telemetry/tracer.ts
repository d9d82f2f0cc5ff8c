import type { NextState, Outcome } from '../domain/attempt.ts';
import type { TraceIds } from '../domain/trace-context.ts';

/**
 * The spans of an event's trace:
 *
 *   request ─► acceptance ─► delivery ─► attempt
 *                                     └─► attempt …
 *
 * If OpenTelemetry is off, the tracer is null. If a trace is not sampled, its spans are null. Neither costs more than a
 * comparison. Acceptance decides once whether a trace is sampled, and stores that with the event.
 */
export type Tracer = {
  /** For requests to the API; null for health checks, metrics and the dashboard. */
  readonly request: (method: string, path: string, headers: Headers) => RequestSpan | null;
  readonly acceptance: (event: TracedEvent) => AcceptanceSpan | null;
  readonly attempt: (delivery: TracedDelivery, startedAtMs: number) => AttemptSpan | null;
};

export type RequestSpan = {
  /** For what the request leads to (`domain/trace-context.ts`). */
  readonly context: string;
  readonly ids: TraceIds;
  readonly end: (request: {
    readonly route: string | null;
    readonly requestId: string;
    readonly entityId: string | null;
    readonly status: number;
  }) => void;
};

export type TracedEvent = {
  readonly entityId: string;
  readonly event: string;
  readonly networkId: number;
  /** The trace that it belongs to. */
  readonly trace?: string | null;
  /** Whether to begin a new trace if the event does not belong to one. */
  readonly beginsTrace?: boolean;
  /** The trace of the batch that it came with, to be linked to. */
  readonly batchTrace?: string | null;
};

export type AcceptanceSpan = {
  /** To be stored with the event. */
  readonly context: string;
  readonly end: (accepted: { eventId: string; deliveries: number; repeated: boolean } | Error) => void;
};

export type TracedDelivery = {
  readonly entityId: string;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly webhookId: string;
  readonly postUrl: string;
  readonly kind: string;
  readonly status: string;
  readonly attempts: number;
  /** By the database's clock, so that it is the same for every attempt. */
  readonly createdAtMs: number;
  readonly trace: string | null;
};

export type AttemptSpan = {
  /** To be sent to the receiver. */
  readonly context: string;
  readonly end: (made: { readonly outcome: Outcome; readonly next: NextState }) => void;
};
