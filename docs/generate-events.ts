import { resolve } from 'node:path';
import { EVENT_MEANINGS, sampleEvent } from '../src/contract/event-samples.ts';
import { SUSPENDED_NOTICE } from '../src/contract/webhook-health.ts';
import { EVENT_KINDS, type EventKind } from '../src/domain/event-kinds.ts';

/** Writes docs/events.md from the samples that test posts carry: `npx bun docs/generate-events.ts`. */

const BASE = 8453;
const SOLANA = 900;
const EVENT_ID = 'evt_0199c2a7118c7b0e9f2d6a5b4c3d2e1f';
const NOW_S = 1_763_168_400;

const INTRODUCTION = `# Events and payloads

<!-- Made from src/contract/event-samples.ts by: npx bun docs/generate-events.ts -->

A post carries the body of \`POST /events\` byte for byte: Paybell adds nothing to it, rounds nothing and moves no key. So what
your receiver gets is what your payment system sent. The samples below are what it should look like, and what
\`POST /webhooks/classic/{webhookId}/test\` sends, with \`"test": true\` added.

- \`event\` and \`networkId\` are in every payload, \`eventId\` where the sender gave one; the \`paybell-event-id\` header always has it.
- A retry and a redelivery carry the same bytes and the same \`webhook-id\` header, by which a receiver knows a post again.
- **Amounts are decimal strings**, because many languages round a JSON number on its way through.
- \`network\` is the network's [CAIP-2](https://chainagnostic.org/CAIPs/caip-2) name, beside the numeric \`networkId\`.
- Dates are Unix seconds.
- The order of arrival is not the order of events: a retry may come after a later event. Go by what the payload says.
`;

const NOTICE = `## When a webhook is suspended

Paybell itself has one thing to say. When it takes a webhook out of service, because it answered 410 (\`gone\`) or had no
success in five days (\`failing\`), it posts a \`${SUSPENDED_NOTICE}\` to the URL set with \`PUT /webhooks/notice-url\`, signed and
retried like any other.

${json({
  eventId: EVENT_ID,
  event: SUSPENDED_NOTICE,
  reason: 'gone',
  webhook: {
    webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
    networkId: BASE,
    event: 'TransferFinalized',
    postUrl: 'https://example.com/hooks/paybell',
  },
  dateSuspended: NOW_S,
})}
`;

export function eventsPage(): string {
  const solana = `## On Solana

The same fields with the addresses and the transaction signature of that network.

${json(sampleEvent('TransferFinalized', SOLANA, EVENT_ID, NOW_S))}
`;
  return [INTRODUCTION, ...EVENT_KINDS.map(section), solana, NOTICE].join('\n');
}

function section(event: EventKind): string {
  return `## ${event}

${EVENT_MEANINGS[event]}

${json(sampleEvent(event, BASE, EVENT_ID, NOW_S))}
`;
}

function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

if (import.meta.main) await Bun.write(resolve(import.meta.dir, 'events.md'), eventsPage());
