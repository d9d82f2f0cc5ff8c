/**
 * The trace that a request belongs to, by W3C Trace Context (https://www.w3.org/TR/trace-context/). It is stored as one
 * text: the `traceparent` and, after a space, the `tracestate` if there is one.
 */

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const TRACEPARENT_LENGTH = 55;
const VERSION = '00';
const INVALID_VERSION = 'ff';
/** The flags for a sampled trace and a random trace id. The specification forbids sending other flags. */
const KNOWN_FLAGS = 0x03;

const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_STATE_MEMBERS = 32;
/** Every service must pass on at least this length. A longer state loses members. */
const MAX_STATE_LENGTH = 512;
const LONG_MEMBER_LENGTH = 128;

/**
 * Reads the headers of a request. Null if `traceparent` is not valid, because an invalid trace must not fail a request.
 */
export function readTraceContext(traceparent: string, tracestate: string | null): string | null {
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(traceparent) ?? [];
  const isValid = version !== '' && version !== INVALID_VERSION && !/^0+$/.test(traceId) && !/^0+$/.test(parentId);
  // A later version may have more fields.
  if (!isValid || (version === VERSION && rest !== undefined)) return null;
  const known = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  const parent = `${VERSION}-${traceId}-${parentId}-0${known}`;
  const state = tracestate === null ? '' : readState(tracestate);
  return state === '' ? parent : `${parent} ${state}`;
}

/** Empty if a member is not valid, because the other members may depend on it. */
function readState(tracestate: string): string {
  const members = tracestate
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isValid = members.every((member) => STATE_MEMBER.test(member)) && keys.size === members.length;
  return isValid && members.length <= MAX_STATE_MEMBERS ? shortened(members) : '';
}

/** Drops long members first, and then the last members, which are the oldest. */
function shortened(members: readonly string[]): string {
  const all = members.join(',');
  if (all.length <= MAX_STATE_LENGTH) return all;
  const short = members.filter((member) => member.length <= LONG_MEMBER_LENGTH);
  while (short.join(',').length > MAX_STATE_LENGTH) short.pop();
  return short.join(',');
}

export type TraceParts = {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
  /** Empty if there is none. */
  readonly state: string;
};

export function partsOfTrace(context: string): TraceParts {
  return {
    traceId: context.slice(3, 35),
    spanId: context.slice(36, 52),
    flags: Number.parseInt(context.slice(53, TRACEPARENT_LENGTH), 16),
    state: context.slice(TRACEPARENT_LENGTH + 1),
  };
}

/** The names that OpenTelemetry gives to the ids of a trace in a log line. */
export type TraceIds = { readonly trace_id: string; readonly span_id: string };

/** Null if there is no trace. */
export function traceIdsOf(context: string | null | undefined): TraceIds | null {
  if (context == null) return null;
  const { traceId, spanId } = partsOfTrace(context);
  return { trace_id: traceId, span_id: spanId };
}

export function traceContextOf({ traceId, spanId, flags, state }: TraceParts): string {
  const parent = `${VERSION}-${traceId}-${spanId}-0${flags & KNOWN_FLAGS}`;
  return state === '' ? parent : `${parent} ${state}`;
}

/** Adds the headers that pass the trace on to the receiver. */
export function addTraceHeaders(headers: Record<string, string>, context: string): void {
  headers.traceparent = context.slice(0, TRACEPARENT_LENGTH);
  if (context.length > TRACEPARENT_LENGTH) headers.tracestate = context.slice(TRACEPARENT_LENGTH + 1);
}
