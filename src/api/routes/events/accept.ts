import type { z } from 'zod';
import { type Config, knownEvents } from '../../../config.ts';
import { MAX_EVENT_BYTES } from '../../../contract/events/size.ts';
import {
  acceptedSchema,
  batchResultsSchema,
  eventOptionsSchema,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  postedEventSchema,
  retractionSchema,
} from '../../../contract/events.ts';
import { parseBody } from '../../../contract/parse-input.ts';
import { type InputError, invalidRequest, Problem } from '../../../contract/problems.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import { MAX_SUBJECT_LENGTH, readSubject, type Subjects } from '../../../domain/supersession/rules.ts';
import { readTraceContext, traceIdsOf } from '../../../domain/trace-context.ts';
import type { NewEvent } from '../../../store/events/acceptance.ts';
import type { ApiContext } from '../../context.ts';
import { splitLines } from '../../http/ndjson.ts';
import { asProblem } from '../../http/problem-response.ts';
import { type CheckedField, decodeUtf8, parseJson } from '../../http/request-body.ts';
import { json } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

type EventSchema = ReturnType<typeof postedEventSchema>;
type Receipt = z.output<typeof acceptedSchema> & { repeated: boolean };

export function eventOperations(config: Config): Operation[] {
  const schema = postedEventSchema(knownEvents(config));
  return [acceptOne(schema), acceptBatch(schema)];
}

function acceptOne(schema: EventSchema): Operation {
  return operation({
    method: 'post',
    path: '/events',
    operationId: 'sendEvent',
    tag: 'Events',
    summary: 'Publish an event',
    description:
      'Accepts an event and delivers it to every webhook for its kind and network. The body is the payload: receivers ' +
      'get exactly the same bytes. The response is sent once the event and its deliveries are stored; ' +
      'with more than 1,000 deliveries, the first of them and a task for the others. The request is ' +
      'safe to repeat with the same `eventId` and the same bytes; with other bytes it fails with `event_conflict`. ' +
      'Paybell reads `agreementId` and `transferId` of the payload to keep order and to supersede events that a later event ' +
      'makes unnecessary. With `hold=chain` and a `transactionHash`, each webhook gets the event once that transaction has the ' +
      'finality that the webhook asked for, and a retraction if the transaction is undone. The headers `traceparent` and ' +
      '`tracestate` (W3C Trace Context) are passed on to receivers.',
    permission: 'events:write',
    limited: 'event',
    rawBody: { contentType: 'application/json', maxBytes: MAX_EVENT_BYTES, schema },
    responses: {
      200: { description: 'Already accepted, with the same bytes', schema: acceptedSchema },
      202: { description: 'Accepted', schema: acceptedSchema },
    },
    problems: ['event_conflict', 'backlog_full', 'storage_full', 'held_limit'],
    query: eventOptionsSchema,
    handle: async ({ context, caller, request, span, bytes, query: { hold } }) => {
      const expected = { schema, hold, trace: span?.context ?? traceOf(request.headers) };
      const { repeated, ...receipt } = await accept(context, caller.entityId, expected, bytes);
      return json(repeated ? 200 : 202, receipt);
    },
  });
}

function acceptBatch(schema: EventSchema): Operation {
  return operation({
    method: 'post',
    path: '/events/batch',
    operationId: 'sendEvents',
    tag: 'Events',
    summary: 'Publish a batch of events',
    description:
      `Accepts up to ${MAX_BATCH_EVENTS} events in NDJSON, one per line, with at most ${MAX_BATCH_BYTES} bytes. ` +
      'Each event has its own result.',
    permission: 'events:write',
    limited: 'batch',
    rawBody: { contentType: 'application/x-ndjson', maxBytes: MAX_BATCH_BYTES, schema },
    responses: { 200: { description: 'One result for each line', schema: batchResultsSchema } },
    query: eventOptionsSchema,
    handle: async ({ context, caller, span, bytes, query: { hold } }) => {
      const lines = splitLines(bytes, MAX_BATCH_EVENTS + 1);
      if (lines.length > MAX_BATCH_EVENTS) {
        throw new Problem(
          'body_too_large',
          `A batch can have at most ${MAX_BATCH_EVENTS} events. Split it into several.`,
        );
      }
      // Each event begins its own trace, with a link to the request's trace.
      const expected = { schema, hold, beginsTrace: true, batchTrace: span?.context ?? null };
      const { admitted, rejection } = context.limits.admitEvents(caller.keyId, lines.length);
      const results = await Promise.all(
        lines.map((line, index) =>
          index < admitted ? acceptLine(context, caller.entityId, expected, line) : rejectedLine(rejection),
        ),
      );
      return json(200, { results });
    },
  });
}

type LineResult = z.output<typeof batchResultsSchema>['results'][number];

async function acceptLine(
  context: ApiContext,
  entityId: string,
  expected: Expected,
  line: Uint8Array,
): Promise<LineResult> {
  try {
    if (line.length > MAX_EVENT_BYTES) {
      throw new Problem('body_too_large', `An event must be at most ${MAX_EVENT_BYTES} bytes.`);
    }
    const { repeated, ...receipt } = await accept(context, entityId, expected, line);
    return { status: repeated ? 200 : 202, ...receipt, code: null, detail: null };
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 500) {
      context.log.error({ err: error, entityId, ...traceIdsOf(expected.batchTrace) }, 'an event of a batch failed');
    }
    return rejectedLine(problem);
  }
}

function rejectedLine({ status, code, detail, extra }: Problem): LineResult {
  const errors = extra.errors?.map(({ name, message }) => `${name} ${message}`).join('; ');
  return { status, eventId: null, deliveries: null, code, detail: errors ?? detail };
}

/** The fields that decide where an event goes, and whether it is a repetition. */
const ROUTING_FIELDS: readonly CheckedField[] = [
  { name: 'event', isInteger: false },
  { name: 'networkId', isInteger: true },
  { name: 'eventId', isInteger: false },
];

/** Fields that only some events need once: other events may have them twice. */
const DECIDING_FIELDS: readonly CheckedField[] = [
  { name: 'retracts', isInteger: false },
  { name: 'transactionHash', isInteger: false },
];

/** Rejects a field that is given twice, because a receiver might read the other value. */
function requireOnce(body: string): void {
  const { hiddenErrors } = parseJson(body, DECIDING_FIELDS);
  if (hiddenErrors.length > 0) throw invalidRequest(hiddenErrors);
}

/** The body is parsed only to check it. It is stored and sent as it was received. */
async function accept(
  { acceptQueue, usage, config }: ApiContext,
  entityId: string,
  { schema, hold, ...traced }: Expected,
  bytes: Uint8Array,
): Promise<Receipt> {
  const body = decodeUtf8(bytes);
  const { value, hiddenErrors } = parseJson(body, ROUTING_FIELDS);
  const parsed = parseBody(isRetraction(value) ? retractionSchema : schema, value);
  if (!parsed.ok) throw invalidRequest(parsed.errors);
  if (hiddenErrors.length > 0) throw invalidRequest(hiddenErrors);
  if (isRetraction(value) || hold !== undefined) requireOnce(body);
  const { event, networkId, eventId = null } = parsed.value;
  const heldFor = hold === undefined ? null : transactionOf(value, networkId, config);
  await usage.requireRoom(entityId);
  const retracts = isRetraction(value) ? value.retracts.eventId : null;
  const { agreementId, transferId, warning } = readSubjects(value);
  const firstDelayMs = config.RETRY_SCHEDULE[0] ?? 0;
  const acceptance = await acceptQueue.accept({
    entityId,
    eventId,
    event,
    networkId,
    body,
    agreementId,
    transferId,
    retracts,
    heldFor,
    heldLimit: config.ENTITY_HELD_LIMIT,
    firstDelayMs,
    ...traced,
  });
  const { deliveries, supersededBy, repeated } = acceptance;
  if (!repeated) usage.add(entityId, deliveries, bytes.length);
  return {
    ...{ eventId: acceptance.eventId, deliveries, repeated },
    ...(supersededBy !== null && { supersededBy }),
    ...(heldFor !== null && { held: true as const }),
    ...(warning !== null && { warning }),
  };
}

/** Other parts of a request: the schema of its event, whether to hold it, and its trace. */
type Expected = Pick<NewEvent, 'trace' | 'beginsTrace' | 'batchTrace'> & {
  readonly schema: EventSchema;
  readonly hold: 'chain' | undefined;
};

function traceOf(headers: Headers): string | null {
  const traceparent = headers.get('traceparent');
  return traceparent === null ? null : readTraceContext(traceparent, headers.get('tracestate'));
}

/** The transaction that a held event waits for. */
function transactionOf(value: unknown, networkId: number, { CHAIN_RPC }: Config): string {
  const errors: InputError[] = [];
  const { transactionHash } = value as Readonly<Record<string, unknown>>;
  const parsed = rulesOf(networkId).transactionIds.parse(typeof transactionHash === 'string' ? transactionHash : '');
  if ('error' in parsed) {
    const message = `${parsed.error}, because hold is chain and the event waits for this transaction`;
    errors.push({ in: 'body', name: 'transactionHash', message });
  }
  if (isRetraction(value)) {
    errors.push({ in: 'query', name: 'hold', message: `must be left out with ${RETRACTION}, which is sent at once` });
  }
  if (!CHAIN_RPC.some((network) => network.networkId === networkId)) {
    const message = `must be a network that this server follows, because hold is chain; the operator sets CHAIN_RPC for ${networkId}`;
    errors.push({ in: 'body', name: 'networkId', message });
  }
  if ('error' in parsed || errors.length > 0) throw invalidRequest(errors);
  return parsed.value;
}

/** The schema has already checked the fields. */
function isRetraction(value: unknown): value is { readonly retracts: { readonly eventId: string } } {
  return typeof value === 'object' && value !== null && 'event' in value && value.event === RETRACTION;
}

/** Reads two more fields, which may have any value. An unusable value only adds a warning to the receipt. */
function readSubjects(value: unknown): Subjects & { warning: string | null } {
  const { agreementId, transferId } = value as Readonly<Record<string, unknown>>;
  const subjects = { agreementId: readSubject(agreementId), transferId: readSubject(transferId) };
  const unusable = [
    ...(agreementId != null && subjects.agreementId === null ? ['agreementId'] : []),
    ...(transferId != null && subjects.transferId === null ? ['transferId'] : []),
  ];
  if (unusable.length === 0) return { ...subjects, warning: null };
  const warning =
    `${unusable.join(' and ')} must be a string of 1 to ${MAX_SUBJECT_LENGTH} characters without NUL to keep order and to ` +
    'supersede; the event was accepted without it.';
  return { ...subjects, warning };
}
