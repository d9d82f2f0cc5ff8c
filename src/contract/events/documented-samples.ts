import { RETRACTION } from '../../domain/event-kinds.ts';
import { FAILING_ALERT, RECOVERED_ALERT, SUSPENDED_NOTICE } from '../endpoints/alerts.ts';
import type { EndpointFailing, EndpointRecovered, EventRetracted, WebhookSuspended } from './payloads.ts';
import { sampleEvent, sampleRetraction } from './samples.ts';

/** The samples that the pages and the OpenAPI document show, all of one moment. */

const BASE = 8453;
const EVENT_ID = 'evt_0199c2a7118c7b0e9f2d6a5b4c3d2e1f';
const RETRACTION_ID = 'evt_0199c2a7a4d27c1fb83e905d6a7b8c9d';
const NOW_S = 1_763_168_400;
const HOUR_S = 3_600;
const FAILING_SINCE_S = NOW_S - HOUR_S;
const DAYS_UNTIL_SUSPENSION = 5;

const WEBHOOK = { webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', networkId: BASE, event: 'TransferFinalized' };
const POST_URL = 'https://example.com/hooks/paybell';
const ENDPOINT = { endpointId: 'ep_00000000000001', postUrl: POST_URL, name: 'Shop' };

type OwnSamples = {
  readonly [RETRACTION]: EventRetracted;
  readonly [FAILING_ALERT]: EndpointFailing;
  readonly [RECOVERED_ALERT]: EndpointRecovered;
  readonly [SUSPENDED_NOTICE]: WebhookSuspended;
};

/** Samples of events that no webhook is registered for. */
export const OWN_SAMPLES: OwnSamples = {
  [RETRACTION]: sampleRetraction(BASE, RETRACTION_ID, EVENT_ID, NOW_S),
  [FAILING_ALERT]: {
    eventId: EVENT_ID,
    event: FAILING_ALERT,
    endpoint: ENDPOINT,
    webhooks: [WEBHOOK],
    totalWebhooks: 1,
    dateFailingSince: FAILING_SINCE_S,
    dateSuspension: FAILING_SINCE_S + DAYS_UNTIL_SUSPENSION * 24 * HOUR_S,
  },
  [RECOVERED_ALERT]: {
    eventId: EVENT_ID,
    event: RECOVERED_ALERT,
    endpoint: ENDPOINT,
    dateFailingSince: FAILING_SINCE_S,
    dateRecovered: NOW_S,
  },
  [SUSPENDED_NOTICE]: {
    eventId: EVENT_ID,
    event: SUSPENDED_NOTICE,
    reason: 'gone',
    webhook: { ...WEBHOOK, postUrl: POST_URL },
    dateSuspended: NOW_S,
  },
};

/** The sample of an event kind, including kinds that an operator added. */
export function documentedSample(event: string, networkId: number = BASE) {
  return sampleEvent(event, networkId, EVENT_ID, NOW_S);
}
