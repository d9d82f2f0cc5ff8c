/** More webhooks than this in one request would hold the lock of the entity for too long. */
export const MAX_WEBHOOKS_PER_REQUEST = 1_000;

/** The most webhooks for one network and event, and so the most deliveries of one event. */
export const MAX_WEBHOOKS_PER_CELL = 10_000;
