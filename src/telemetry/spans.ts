import type { Attributes, Context, Tracer as OpenTelemetryTracer, Span, SpanContext } from '@opentelemetry/api';
import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import { isSuccess, type Outcome } from '../domain/attempt.ts';
import { partsOfTrace, readTraceContext, traceContextOf } from '../domain/trace-context.ts';
import type { AcceptanceSpan, AttemptSpan, RequestSpan, TracedDelivery, TracedEvent, Tracer } from './tracer.ts';

/** The tracer on OpenTelemetry's SDK. Loaded only if an endpoint for traces is set. */

/** Whether the next span gets an id that was known before. */
export class SpanIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  readonly generateTraceId = () => this.#random.generateTraceId();
  #next: string | null = null;

  readonly generateSpanId = (): string => {
    const id = this.#next ?? this.#random.generateSpanId();
    this.#next = null;
    return id;
  };

  setNext(id: string): void {
    this.#next = id;
  }
}

export function createTracer(spans: OpenTelemetryTracer, ids: SpanIds): Tracer {
  return {
    request: (method, path, headers) => beginRequest(spans, method, path, headers),
    acceptance: (event) => beginAcceptance(spans, event),
    attempt: (delivery, startedAtMs) => beginAttempt(spans, ids, delivery, startedAtMs),
  };
}

const TRACED_PATH = /^\/(?:api|admin)\//;

function beginRequest(spans: OpenTelemetryTracer, method: string, path: string, headers: Headers): RequestSpan | null {
  if (!TRACED_PATH.test(path)) return null;
  const traceparent = headers.get('traceparent');
  const given = traceparent === null ? null : readTraceContext(traceparent, headers.get('tracestate'));
  const parent = given === null ? ROOT_CONTEXT : withRemote(given);
  const span = spans.startSpan(method, { kind: SpanKind.SERVER }, parent);
  if (!span.isRecording()) return null;
  const { traceId, spanId } = span.spanContext();
  return {
    context: contextOf(span),
    ids: { trace_id: traceId, span_id: spanId },
    end: ({ route, requestId, entityId, status }) => {
      if (route !== null) span.updateName(`${method} ${route}`);
      span.setAttributes({
        'http.request.method': method,
        'http.response.status_code': status,
        'paybell.request.id': requestId,
        ...(route !== null && { 'http.route': route }),
        ...(entityId !== null && { 'paybell.entity.id': entityId }),
      });
      if (status >= 500) fail(span, String(status));
      span.end();
    },
  };
}

function beginAcceptance(spans: OpenTelemetryTracer, event: TracedEvent): AcceptanceSpan | null {
  const { trace: given = null, batchTrace = null, beginsTrace = false } = event;
  if (given === null && !beginsTrace) return null;
  const links = batchTrace === null ? [] : [{ context: spanContextOf(batchTrace) }];
  const parent = given === null ? ROOT_CONTEXT : withRemote(given);
  const span = spans.startSpan(`accept ${event.event}`, { kind: SpanKind.PRODUCER, links }, parent);
  if (!span.isRecording()) return null;
  span.setAttributes({
    'paybell.entity.id': event.entityId,
    'paybell.event.kind': event.event,
    'paybell.network.id': event.networkId,
  });
  return {
    context: contextOf(span),
    end: (accepted) => {
      if (accepted instanceof Error) fail(span, accepted.name);
      else {
        span.setAttributes({
          'paybell.event.id': accepted.eventId,
          'paybell.event.deliveries': accepted.deliveries,
          'paybell.event.repeated': accepted.repeated,
        });
      }
      span.end();
    },
  };
}

const SPAN_ID_DIGITS = 16;

/**
 * The span of a delivery lasts from the acceptance to its completion: over days, perhaps, and over several instances. Its id is
 * part of the id of the delivery, so that each attempt knows its parent, and the attempt that completes the delivery sends it.
 */
function beginAttempt(
  spans: OpenTelemetryTracer,
  ids: SpanIds,
  delivery: TracedDelivery,
  startedAtMs: number,
): AttemptSpan | null {
  if (delivery.trace === null) return null;
  ids.setNext(delivery.deliveryId.slice(-SPAN_ID_DIGITS));
  const deliverySpan = spans.startSpan(
    'deliver',
    { kind: SpanKind.CONSUMER, startTime: delivery.createdAtMs },
    withRemote(delivery.trace),
  );
  if (!deliverySpan.isRecording()) return null;
  const parent = trace.setSpan(ROOT_CONTEXT, deliverySpan);
  const span = spans.startSpan('POST', { kind: SpanKind.CLIENT, startTime: startedAtMs }, parent);
  return {
    context: contextOf(span),
    end: ({ outcome, next }) => {
      span.setAttributes({ ...idsOf(delivery), ...attemptAttributes(delivery, outcome) });
      if (!isSuccess(outcome)) fail(span, resultOf(outcome));
      const endedAtMs = startedAtMs + outcome.durationMs;
      span.end(endedAtMs);
      // A redelivery does not complete a delivery for a second time.
      if (isComplete(delivery.status) || !isComplete(next.status)) return;
      deliverySpan.setAttributes({
        ...idsOf(delivery),
        'paybell.webhook.id': delivery.webhookId,
        'paybell.delivery.status': next.status,
        'paybell.delivery.attempts': delivery.attempts + 1,
      });
      if (next.status !== 'delivered') fail(deliverySpan, next.status);
      deliverySpan.end(endedAtMs);
    },
  };
}

function isComplete(status: string): boolean {
  return status !== 'pending' && status !== 'retrying';
}

function idsOf({ entityId, eventId, deliveryId }: TracedDelivery): Attributes {
  return { 'paybell.entity.id': entityId, 'paybell.event.id': eventId, 'paybell.delivery.id': deliveryId };
}

/** Without the path and the query of the URL, in which receivers put secrets. */
function attemptAttributes({ postUrl, kind, attempts }: TracedDelivery, outcome: Outcome): Attributes {
  const url = URL.parse(postUrl);
  return {
    'http.request.method': 'POST',
    'http.request.resend_count': attempts,
    'paybell.attempt.kind': kind,
    ...(url !== null && {
      'url.scheme': url.protocol.slice(0, -1),
      'server.address': url.hostname,
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    }),
    ...(outcome.kind === 'response' && { 'http.response.status_code': outcome.statusCode }),
  };
}

function resultOf(outcome: Outcome): string {
  return outcome.kind === 'response' ? String(outcome.statusCode) : outcome.error;
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function withRemote(context: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, spanContextOf(context));
}

function spanContextOf(context: string): SpanContext {
  const { traceId, spanId, flags, state } = partsOfTrace(context);
  const remote = { traceId, spanId, traceFlags: flags, isRemote: true };
  return state === '' ? remote : { ...remote, traceState: createTraceState(state) };
}

function contextOf(span: Span): string {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return traceContextOf({ traceId, spanId, flags: traceFlags, state: traceState?.serialize() ?? '' });
}
