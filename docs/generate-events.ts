import { resolve } from 'node:path';
import { FAILING_ALERT, RECOVERED_ALERT, SUSPENDED_NOTICE } from '../src/contract/endpoints/alerts.ts';
import { documentedSample, OWN_SAMPLES } from '../src/contract/events/documented-samples.ts';
import { EVENT_MEANINGS, RETRACTION_MEANING } from '../src/contract/events/samples.ts';
import { caip2 } from '../src/domain/chain/families/families.ts';
import { EVENT_KINDS, type EventKind, RETRACTION } from '../src/domain/event-kinds.ts';

/** Writes docs/events.md from the samples that test requests carry: `npx bun docs/generate-events.ts`. */

const SOLANA = 900;

const INTRODUCTION = `# Events and payloads

<!-- Generated from src/contract/events/samples.ts by: npx bun docs/generate-events.ts -->

This page shows what each event means, with a sample payload of each.

A delivery carries the body of \`POST /events\` byte for byte. Paybell adds nothing, rounds nothing and reorders no key, so your
receiver gets exactly what your payment system sent. The samples below show the recommended fields.
\`POST /webhooks/classic/{webhookId}/test\` sends the same samples with \`"test": true\` added.

- Every payload has \`event\` and \`networkId\`. \`eventId\` is in the payload if the sender set it; the \`paybell-event-id\` header
  always has it.
- Retries and redeliveries carry the same bytes and the same \`webhook-id\` header. Use that header to detect duplicates: an event has one
  delivery for each webhook ([L1](guarantees.md#l1)).
- **Amounts are decimal strings**, because many languages round JSON numbers.
- \`network\` is the [CAIP-2](https://chainagnostic.org/CAIPs/caip-2) identifier of the network, in addition to the numeric \`networkId\`.
- Dates are Unix seconds.
- **Delivery order is not event order**: a retry can arrive after a later event. Rely on the contents of the payload, or
  give the endpoint an order ([L8](guarantees.md#l8)).
`;

const FROM_NETWORK = `## Events from a network

An event that Paybell read from a network itself, instead of getting it with \`POST /events\`, has the fields that the log proves, and
these. A field that the log does not prove is absent.

| Field | Value |
|---|---|
| \`transactionHash\`, \`blockNumber\`, \`blockHash\`, \`logIndex\`, \`contract\` | the position of the log: the block can change until it is final, the transaction cannot |
| \`finality\` | the finality of the webhook, which the transaction has reached |
| \`confirmations\` | the number of blocks from the transaction’s block to the newest one, both included |
| \`revision\` | 1, and one more each time that the transaction comes back after a retraction |
| \`amountBase\` | the amount in the smallest unit of the token; \`amount\` is absent if the token does not say how many decimals it has |

[Finality](finality.md) says what to do at which finality.
`;

const RETRACTED = `## ${RETRACTION}

${RETRACTION_MEANING}

Webhooks cannot register for this kind. Paybell sends a retraction to every webhook that may have received the original, after the
original. It is a delivery with its own \`webhook-id\`, signature, retries and sequence number. \`reason\` is \`reorg\`, \`sender\` or
\`not_on_chain\`. To retract an event, its sender publishes \`${RETRACTION}\` with \`retracts.eventId\`; only \`event\`, \`networkId\` and
\`retracts\` are certain to be there then.

${json(OWN_SAMPLES[RETRACTION])}
`;

const FAILING = `## Alerts about a failing endpoint

When every attempt for a webhook has failed for an hour, Paybell sends an \`${FAILING_ALERT}\` alert about its endpoint to the URL set with
\`PUT /webhooks/notice-url\`. It sends one alert for the endpoint, however many webhooks it has, and another one every day. Nothing is lost
at that point: Paybell retries the deliveries. At \`dateSuspension\` it suspends the webhook and holds them. Deliveries to a paused endpoint
cause no alert.

${json(OWN_SAMPLES[FAILING_ALERT])}

When a delivery succeeds again, Paybell sends \`${RECOVERED_ALERT}\`, once. It sends none if the webhook was suspended, resumed, deleted or
moved to another URL instead.

${json(OWN_SAMPLES[RECOVERED_ALERT])}

Alerts are checked once a minute. Each is sent once, whatever the number of instances, and is delivered like any other event. The URL for
alerts should not be on the system that can fail: alerts to it would fail with it.
`;

const ALERT = `## Suspension alerts

Paybell suspends a webhook when its receiver responds with 410 (\`gone\`) or when no delivery has succeeded for five days
(\`failing\`). It then sends a \`${SUSPENDED_NOTICE}\` alert to the URL set with \`PUT /webhooks/notice-url\`. Alerts are signed and
retried like any other delivery.

${json(OWN_SAMPLES[SUSPENDED_NOTICE])}
`;

export function eventsPage(): string {
  const solana = `## Solana

Payloads on Solana have the same fields, with Solana addresses and transaction signatures. \`network\` is \`${caip2(SOLANA)}\`.
`;
  return [INTRODUCTION, ...EVENT_KINDS.map(section), RETRACTED, FROM_NETWORK, solana, FAILING, ALERT].join('\n');
}

function section(event: EventKind): string {
  return `## ${event}

${EVENT_MEANINGS[event]}

${json(documentedSample(event))}
`;
}

function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

if (import.meta.main) await Bun.write(resolve(import.meta.dir, 'events.md'), eventsPage());
