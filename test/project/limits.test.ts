import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { loadConfig, SETTING_NAMES } from '../../src/config.ts';
import { PROBLEMS } from '../../src/contract/problems.ts';

const read = (path: string) => Bun.file(resolve(import.meta.dir, '../..', path)).text();

type Unit =
  | 'count'
  | 'bytes'
  | 'characters'
  | 'levels'
  | 'hours'
  | 'seconds'
  | 'milliseconds as hours'
  | 'milliseconds';

/** The constant behind each row without a setting: its file below src, its name, and the unit of the page. */
const CONSTANTS: Readonly<Record<string, readonly [file: string, name: string, unit: Unit]>> = {
  'Length of a request URL': ['api/app.ts', 'MAX_URL_LENGTH', 'characters'],
  'JSON body': ['api/http/request-body.ts', 'MAX_JSON_BYTES', 'bytes'],
  'Nesting of JSON': ['api/http/request-body.ts', 'MAX_JSON_DEPTH', 'levels'],
  'Input errors in one response': ['contract/problems.ts', 'MAX_INPUT_ERRORS_SHOWN', 'count'],
  'Entries of a page, 25 by default': ['contract/list-query.ts', 'MAX_LIMIT', 'count'],
  'Matches that a page of events can skip': ['store/list/page.ts', 'MAX_SKIPPED', 'count'],
  'Matches that a page of deliveries can skip': ['store/list/page.ts', 'MAX_SKIPPED', 'count'],
  'Matches that a page of delivered deliveries of some webhooks can skip': [
    'store/deliveries/list/page.ts',
    'MAX_LOOKED_UP',
    'count',
  ],
  'Deliveries to sort by their next attempt': ['store/deliveries/list/page.ts', 'MAX_SORTED', 'count'],
  'Deliveries whose payload a search reads': ['contract/deliveries.ts', 'MAX_PAYLOADS_SEARCHED', 'count'],
  'Payments that a list counts': ['contract/chain/payments.ts', 'MAX_PAYMENTS_COUNTED', 'count'],
  'Rows of statistics in one response': ['contract/stats.ts', 'MAX_INTERVALS', 'count'],
  'Events in one reconciliation': ['store/reconciliation/day-book.ts', 'MAX_EVENTS', 'count'],
  'Reconciliations of an entity at a time, per process': ['api/routes/reconciliation.ts', 'MAX_AT_ONCE', 'count'],
  "Previews and changes of an entity's sources at a time, per process": [
    'api/routes/chain/sources.ts',
    'MAX_AT_ONCE',
    'count',
  ],
  "Requests for an entity's invoices that ask a network at a time, per process": [
    'api/routes/chain/invoices.ts',
    'MAX_AT_ONCE',
    'count',
  ],
  'Body of an event': ['contract/events/size.ts', 'MAX_EVENT_BYTES', 'bytes'],
  'Body of a batch': ['contract/events.ts', 'MAX_BATCH_BYTES', 'bytes'],
  'Events of a batch': ['contract/events.ts', 'MAX_BATCH_EVENTS', 'count'],
  'Length of `agreementId` and `transferId` for ordering and supersession': [
    'domain/supersession/rules.ts',
    'MAX_SUBJECT_LENGTH',
    'characters',
  ],
  'Webhooks of an entity for one network and event': ['contract/webhooks/limits.ts', 'MAX_WEBHOOKS_PER_CELL', 'count'],
  'Webhooks that one request registers': ['contract/webhooks/limits.ts', 'MAX_WEBHOOKS_PER_REQUEST', 'count'],
  'Webhooks that one request changes or deletes': ['contract/webhooks/limits.ts', 'MAX_WEBHOOKS_PER_REQUEST', 'count'],
  'Length of `postUrl`': ['domain/post-url.ts', 'POST_URL_MAX_LENGTH', 'characters'],
  'Fields of a filter': ['domain/payload-filter/payload-filter.ts', 'MAX_FILTER_FIELDS', 'count'],
  'Values in the lists of a filter': ['domain/payload-filter/payload-filter.ts', 'MAX_FILTER_VALUES', 'count'],
  'Length of a value in a filter': ['domain/payload-filter/payload-filter.ts', 'MAX_VALUE_LENGTH', 'characters'],
  'Size of a filter': ['contract/webhooks/options.ts', 'MAX_FILTER_BYTES', 'bytes'],
  'Different filters of an entity together': ['store/webhooks/filters.ts', 'MAX_ENTITY_BYTES', 'bytes'],
  'Confirmations as a finality, from 2 on': ['domain/chain/finality.ts', 'MAX_CONFIRMATIONS', 'count'],
  'Rules of a finality by amount': ['domain/chain/finality-by-amount.ts', 'MAX_AMOUNT_RULES', 'count'],
  'Length of `maxAmount` in a rule': ['domain/chain/finality-by-amount.ts', 'MAX_RULE_AMOUNT_LENGTH', 'characters'],
  'Name of an endpoint': ['contract/endpoints/endpoint.ts', 'MAX_ENDPOINT_NAME_LENGTH', 'characters'],
  'Fixed headers of an endpoint': ['domain/endpoints/request-headers.ts', 'MAX_HEADERS', 'count'],
  'Value of a fixed header': ['domain/endpoints/request-headers.ts', 'MAX_HEADER_VALUE_BYTES', 'bytes'],
  'Fixed headers of an endpoint together': ['domain/endpoints/request-headers.ts', 'MAX_HEADERS_BYTES', 'bytes'],
  'Rate limit of an endpoint, per second': ['contract/endpoints/endpoint.ts', 'MAX_RATE_LIMIT', 'count'],
  "Certificates in a client certificate's chain": [
    'domain/endpoints/client-certificate.ts',
    'MAX_CHAIN_LENGTH',
    'count',
  ],
  'Keys of an entity in force': ['store/tenants/own-keys.ts', 'MAX_KEYS_IN_FORCE', 'count'],
  'Entries of `ADMIN_KEYS`': ['domain/keys/operator-keys.ts', 'MAX_OPERATOR_KEYS', 'count'],
  'Signing secrets in force, of an entity or an endpoint': [
    'domain/secret-overlap.ts',
    'MAX_SECRETS_IN_FORCE',
    'count',
  ],
  'Overlap of a rotation': ['domain/secret-overlap.ts', 'MAX_OVERLAP_HOURS', 'hours'],
  'Default overlap of a rotation': ['domain/secret-overlap.ts', 'DEFAULT_OVERLAP_HOURS', 'hours'],
  'Age of a signature that the verifier accepts': ['verify/verify.ts', 'DEFAULT_TOLERANCE_S', 'seconds'],
  '`Retry-After` of a receiver': ['domain/retry.ts', 'DAY_MS', 'milliseconds as hours'],
  'Response head': ['delivery/http/response-parser.ts', 'HEADS_MAX_BYTES', 'bytes'],
  'Response body that is read': ['delivery/http/response-body.ts', 'BODY_MAX_BYTES', 'bytes'],
  'Response body that is stored': ['delivery/http/response-body.ts', 'STORED_MAX_BYTES', 'bytes'],
  'Response headers that are stored of an attempt that failed': [
    'domain/endpoints/shown-headers.ts',
    'MAX_RESPONSE_HEADERS_BYTES',
    'bytes',
  ],
  'Addresses of a host that one attempt connects to': ['delivery/sender.ts', 'MAX_ADDRESSES_TRIED', 'count'],
  'Attempts that one response shows': ['contract/deliveries.ts', 'MAX_ATTEMPTS_SHOWN', 'count'],
  'Consecutive failures of a destination until it gets one attempt at a time': [
    'delivery/queue/destination-health.ts',
    'BREAKER_OPENS_AFTER',
    'count',
  ],
  'Time without a success until Paybell alerts the entity': [
    'domain/attempt.ts',
    'ALERT_AFTER_MS',
    'milliseconds as hours',
  ],
  'Time without a success until Paybell suspends a webhook': [
    'domain/attempt.ts',
    'SUSPEND_AFTER_MS',
    'milliseconds as hours',
  ],
  'Running bulk redeliveries of an entity': ['store/deliveries/redeliver/bulk.ts', 'MAX_RUNNING', 'count'],
  'Entries of a feed response': ['contract/list-query.ts', 'MAX_LIMIT', 'count'],
  'Characters of bodies in a feed response, about': ['store/endpoints/read-feed.ts', 'MAX_BODY_LENGTH', 'count'],
  '`wait` of a feed request': ['contract/endpoints/feed.ts', 'MAX_WAIT_S', 'seconds'],
  'Listen sessions of an entity': ['store/listen/sessions.ts', 'MAX_SESSIONS', 'count'],
  'Waiting requests of a listen session': ['store/listen/queue-events.ts', 'MAX_WAITING_REQUESTS', 'count'],
  'Listen session without a reader': ['store/listen/remove-ended.ts', 'READERLESS_MS', 'milliseconds'],
  'Earlier blocks that a source with the preset `native` asks for': [
    'chain/evm/source-tools.ts',
    'MAX_COIN_HISTORY',
    'count',
  ],
  'Invoices of one request': ['contract/chain/invoices.ts', 'MAX_BATCH_INVOICES', 'count'],
  'Invoice in a batch': ['contract/chain/invoices.ts', 'MAX_INVOICE_BYTES', 'bytes'],
  'Tolerance of an invoice, in percent': ['domain/chain/invoices/invoice-state.ts', 'MAX_TOLERANCE_PERCENT', 'count'],
  'Days after its expiry in which an invoice is watched': ['contract/chain/new-invoice.ts', 'MAX_WATCH_DAYS', 'count'],
  'Texts in the `metadata` of an invoice': ['contract/chain/new-invoice.ts', 'MAX_METADATA_TEXTS', 'count'],
  '`metadata` of an invoice': ['contract/chain/new-invoice.ts', 'MAX_METADATA_BYTES', 'bytes'],
  'Payments of an invoice that one response shows': ['contract/chain/invoices.ts', 'MAX_INVOICE_PAYMENTS', 'count'],
  'New tokens in one request of invoices': ['chain/evm/invoice-tools.ts', 'MAX_UNKNOWN_TOKENS', 'count'],
  'Addresses of one request': ['contract/chain/addresses.ts', 'MAX_ADDRESSES', 'count'],
  "Text of an event's ABI": ['domain/chain/source-definition.ts', 'MAX_ABI_LENGTH', 'characters'],
  'Parameters in `where` of a source': ['domain/chain/source-definition.ts', 'MAX_WHERE_PARAMETERS', 'count'],
  'Values of one parameter in `where`': ['domain/chain/source-definition.ts', 'MAX_WHERE_VALUES', 'count'],
  'Fields of a source': ['domain/chain/source-definition.ts', 'MAX_FIELDS', 'count'],
  'Logs of one block that a source takes': ['chain/evm/follow/flood.ts', 'MAX_BLOCK_LOGS', 'count'],
  'Nodes in `CHAIN_RPC`': ['domain/chain/network-nodes.ts', 'MAX_NODES', 'count'],
  'Response of a node': ['chain/rpc/response-size.ts', 'MAX_BYTES', 'bytes'],
  'Call to a node': ['chain/rpc/http-exchange.ts', 'TIMEOUT_MS', 'milliseconds'],
  'Deliveries in memory beyond those in flight, per process': ['delivery/engine.ts', 'MAX_QUEUED', 'count'],
  'Bodies of deliveries in memory, per process': ['delivery/engine.ts', 'MAX_HELD_BYTES', 'bytes'],
  'Calls that wait for the database, per process': ['store/database/database.ts', 'MAX_WAITING', 'count'],
  'Connection of a client that sends nothing': ['api/server.ts', 'IDLE_TIMEOUT_S', 'seconds'],
  'Requests in flight at a stop': ['api/server.ts', 'DRAIN_MS', 'milliseconds'],
  'Silence until an instance counts as gone': ['store/instances.ts', 'LIVE_MS', 'milliseconds'],
};

/** Rows whose value is not one constant of a file. The second text is in the source as it is. */
const COMPOSED: Readonly<Record<string, readonly [value: string, file: string, source: string]>> = {
  'Requests with a wrong key from one address, per process': [
    '10/s, burst of 50',
    'api/auth/rate-limits.ts',
    'FAILED_LOGINS: Rate = { perSecond: 10, burst: 50 }',
  ],
  'Requests for key sets from one address, per process': [
    '20/s, burst of 200',
    'api/auth/rate-limits.ts',
    'OPEN_READS: Rate = { perSecond: 20, burst: 200 }',
  ],
  'Bytes of a page of events': ['6.25 MiB', 'store/list/page.ts', 'MAX_PAGE_BYTES = DEFAULT_LIMIT * MAX_EVENT_BYTES'],
  'Waiting ordered deliveries that a change of order takes along': ['500', 'store/database/database.ts', ' rows: 500,'],
};

type Row = { readonly label: string; readonly value: string; readonly setting: string; readonly past: string };

async function rowsOfPage(): Promise<Row[]> {
  const page = await read('docs/limits.md');
  return [...page.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$/gm)]
    .map(([, label = '', value = '', setting = '', past = '']) => ({ label, value, setting, past }))
    .filter(({ label }) => label !== 'Limit');
}

/** The number that a constant of digits, products and powers has. */
async function constantIn(file: string, name: string): Promise<number> {
  const expression = new RegExp(`\\bconst ${name} = ([\\d_ *]+);`).exec(await read(`src/${file}`))?.[1];
  if (expression === undefined) throw new Error(`src/${file} has no number ${name}: fix docs/limits.md and this list`);
  return expression
    .replaceAll('_', '')
    .split(/(?<!\*) \* (?!\*)/)
    .map((factor) => factor.split('**').map(Number))
    .reduce((product, [base = Number.NaN, power = 1]) => product * base ** power, 1);
}

const count = (value: number) => value.toLocaleString('en-GB');

function shown(value: number, unit: Unit): string {
  if (unit === 'bytes') return shownBytes(value);
  if (unit === 'milliseconds') return `${count(value / 1_000)} s`;
  if (unit === 'milliseconds as hours') return `${count(value / 3_600_000)} h`;
  if (unit === 'hours') return `${count(value)} h`;
  if (unit === 'seconds') return `${count(value)} s`;
  return unit === 'count' ? count(value) : `${count(value)} ${unit}`;
}

function shownBytes(value: number): string {
  if (value <= 1_024) return `${count(value)} bytes`;
  return value < 1_024 ** 2 ? `${count(value / 1_024)} KiB` : `${count(value / 1_024 ** 2)} MiB`;
}

/** Limits that are settings. The page must have a row for each. */
const LIMITING = SETTING_NAMES.filter((name) =>
  /_LIMIT$|_CONCURRENCY$|_TIMEOUT$|_SIZE$|_POOL$|^RETENTION$|^RETRY_SCHEDULE$|^CHAIN_RPC_RATE$|^CHAIN_GRACE$|^WORKERS$/.test(
    name,
  ),
);

describe('docs/limits.md', () => {
  test('has the default of every setting that limits something', async () => {
    const rows = (await rowsOfPage()).filter(({ setting }) => setting !== '–');
    const defaults = loadConfig({});
    for (const { value, setting } of rows) {
      const name = LIMITING.find((limiting) => `\`${limiting}\`` === setting);
      if (name === undefined) throw new Error(`${setting} is not a setting that limits something`);
      const [, text = ''] = /^`(.+)`$/.exec(value) ?? [];
      expect({ [name]: loadConfig({ [name]: text })[name] }).toEqual({ [name]: defaults[name] });
    }
    expect(new Set(rows.map(({ setting }) => setting))).toEqual(new Set(LIMITING.map((name) => `\`${name}\``)));
  });

  test('has the number of every other limit', async () => {
    const fixed = (await rowsOfPage()).filter(({ setting }) => setting === '–');
    const expected = new Map<string, string>();
    for (const [label, [file, name, unit]] of Object.entries(CONSTANTS)) {
      expected.set(label, shown(await constantIn(file, name), unit));
    }
    for (const [label, [value, file, source]] of Object.entries(COMPOSED)) {
      expect(await read(`src/${file}`)).toContain(source);
      expected.set(label, value);
    }
    const listed = Object.fromEntries(fixed.map(({ label, value }) => [label, value]));
    expect(listed).toEqual(Object.fromEntries(expected));
  });

  test('names only codes of the catalogue, each with its status', async () => {
    const statuses = new Map<string, number>(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]));
    for (const { past } of await rowsOfPage()) {
      const [, status, code = ''] = /\b(\d{3}) `(\w+)`/.exec(past) ?? [];
      if (status !== undefined) expect({ [code]: statuses.get(code) }).toEqual({ [code]: Number(status) });
    }
  });
});
