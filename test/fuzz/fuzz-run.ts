import fc from 'fast-check';
import { loadConfig } from '../../src/config.ts';
import { createAttemptTools } from '../../src/delivery/attempt.ts';
import { sendTestRequest } from '../../src/delivery/test-request.ts';
import type { Outcome } from '../../src/domain/attempt.ts';
import type { Database } from '../../src/store/database/database.ts';
import { createTenant, TEST_BOX, type Tenant, testApp } from '../support/api.ts';
import { FakeNetwork } from '../support/chain/fake-network.ts';
import { NETWORK } from '../support/chain/logs.ts';
import { type ApiDocument, type FuzzedOperation, operationsIn, readDocument } from './document.ts';
import { type Credentials, type FuzzedId, type FuzzedRequest, fuzzedRequests } from './request-arbitrary.ts';
import { ResponseCheck } from './response-check.ts';
import type { OpenTransport, OutgoingRequest, Transport } from './transports.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const SETTINGS = {
  ...{ ADMIN_KEY, EXTRA_EVENTS: 'RefundIssued', ENTITY_WEBHOOK_LIMIT: '1000' },
  CHAIN_RPC: `${NETWORK}=https://node.example`,
};
const GIVEN_ID = /\b(?:wh|evt|dlv|rdl|key|ent|src|inv|ep)_[0-9a-f]{14,32}\b/g;
const MAX_IDS = 500;

const OUTCOMES: readonly Outcome[] = [
  { kind: 'response', statusCode: 204, retryAfter: null, body: '', durationMs: 0.5 },
  { kind: 'response', statusCode: 500, retryAfter: '-1', body: '\ufffd', durationMs: 12 },
  { kind: 'error', error: 'blocked_address', durationMs: 0 },
];

/** A service that receives fuzzed requests, with counts of its responses and the ids that it has returned so far. */
export class FuzzRun implements AsyncDisposable {
  /** Counts by operation and status, which show whether requests get past authentication. */
  readonly statuses = new Map<string, number>();
  sent = 0;
  unsendable = 0;
  readonly #ids: string[] = [];
  readonly #check: ResponseCheck;

  private constructor(
    private readonly document: ApiDocument,
    private readonly operations: readonly FuzzedOperation[],
    private readonly owner: Tenant,
    private readonly stranger: Tenant,
    private readonly transport: Transport,
  ) {
    this.#check = new ResponseCheck(document);
  }

  static async start(db: Database, open: OpenTransport): Promise<FuzzRun> {
    // No test request leaves the process: the outcomes are made up here.
    const tools = {
      ...createAttemptTools(loadConfig(SETTINGS), db, TEST_BOX),
      sender: { send: async () => outcomes.next().value },
    };
    const outcomes = cycle(OUTCOMES);
    const app = testApp(db, SETTINGS, {
      sendTest: (...request) => sendTestRequest(tools, ...request),
      chain: new FakeNetwork().tools(db),
    });
    const document = await readDocument(app);
    const [owner, stranger] = [await createTenant(db), await createTenant(db)];
    return new FuzzRun(document, operationsIn(document), owner, stranger, open(app));
  }

  /** Throws an error with the smallest request that has a wrong response, and the seed that repeats it. */
  async fire(requests: number, seed: number): Promise<void> {
    const property = fc.asyncProperty(fuzzedRequests(this.document, this.operations), async (request) => {
      const violations = await this.try(request);
      if (violations.length > 0) throw new Error(`${show(this.outgoing(request))}: ${violations.join('; ')}`);
    });
    await fc.assert(property, { numRuns: requests, seed, endOnFailure: false });
  }

  async try(request: FuzzedRequest): Promise<string[]> {
    const outgoing = this.outgoing(request);
    const response = await this.transport.send(outgoing);
    if (response === null) {
      this.unsendable++;
      return [];
    }
    this.sent++;
    const operation = this.operationAt(outgoing);
    const key = `${operation?.name ?? 'nothing'} ${response.status}`;
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + 1);
    this.#learn(response.body);
    return this.#check.violationsOf(operation, outgoing, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.transport.close();
  }

  outgoing({
    operation,
    method,
    id,
    query,
    rawQuery,
    credentials,
    contentType,
    headers,
    body,
    malformation,
  }: FuzzedRequest): OutgoingRequest {
    const { path: pattern = '' } = this.operations.find(({ name }) => name === operation) ?? {};
    const path = pattern.replace(/\{(\w+)\}/, (_, name) => encode(this.#idFor(name, id)));
    const pairs = query.map(([name, value]) => `${encode(name)}=${encode(this.#idFor(name, value))}`);
    const search = [...pairs, ...(rawQuery === null ? [] : [rawQuery])].join('&');
    return {
      method,
      target: search === '' ? path : `${path}?${search}`,
      headers: [
        ...this.#credentials(credentials),
        ...(contentType === null ? [] : [['content-type', contentType] as const]),
        ...headers,
      ],
      malformation,
      body: method === 'GET' || method === 'HEAD' ? null : body,
    };
  }

  /** Null where the target belongs to no operation, or is written so that only the router can tell to which. */
  operationAt({ method, target }: OutgoingRequest): FuzzedOperation | null {
    const segments = (target.split(/[?#]/)[0] ?? '').split('/');
    if (segments.some((segment) => /^(\.|%2e)*$/i.test(segment) && segment !== '')) return null;
    const found = this.operations.filter(
      (operation) =>
        operation.method === (method === 'HEAD' ? 'GET' : method) && matches(operation.path.split('/'), segments),
    );
    return found.find(({ path }) => !path.includes('{')) ?? found[0] ?? null;
  }

  #idFor(name: string, id: FuzzedId): string {
    if ('text' in id) return id.text;
    const prefix =
      { webhookId: 'wh_', deliveryId: 'dlv_', keyId: 'key_', eventId: 'evt_', entityId: 'ent_' }[name] ?? '';
    const known = this.#ids.filter((given) => given.startsWith(prefix));
    return known[id.nth % (known.length || 1)] ?? 'wh_00000000000000000000000000000000';
  }

  #credentials(caller: Credentials): [string, string][] {
    if (caller === 'none') return [];
    if (typeof caller === 'object')
      return [
        ['api-key', caller.key],
        ['entity-id', caller.entity],
      ];
    const key = {
      owner: this.owner.apiKey,
      operator: ADMIN_KEY,
      stranger: this.stranger.apiKey,
      mixed: this.owner.apiKey,
    }[caller];
    const entity = caller === 'owner' || caller === 'operator' ? this.owner.entityId : this.stranger.entityId;
    return [
      ['api-key', key],
      ['entity-id', entity],
    ];
  }

  /** Keeps the newest ids, except for the keys of this run: with those revoked, every request would be rejected. */
  #learn(body: string): void {
    for (const [id] of body.matchAll(GIVEN_ID)) {
      if (id === this.owner.keyId || id === this.stranger.keyId || this.#ids.includes(id)) continue;
      this.#ids.push(id);
      if (this.#ids.length > MAX_IDS) this.#ids.shift();
    }
  }
}

function* cycle<Value>(values: readonly Value[]): Generator<Value, never> {
  while (true) yield* values;
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : part === segments[index]))
  );
}

function show({ method, target, body, malformation }: OutgoingRequest): string {
  const what = body === null ? 'no body' : String(body).slice(0, 200);
  return `${method} ${target.slice(0, 200)} with ${what} and ${malformation ?? 'no malformation'}`;
}

/** Leaves text unchanged that may be percent-encoded already, so that `%zz` and `%00` are sent as such. */
function encode(text: string): string {
  if (/^[\w.~%-]+$/.test(text)) return text;
  return encodeURIComponent(text.toWellFormed());
}
