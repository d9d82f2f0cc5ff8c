/** The settings of an endpoint that have a fixed list of values. */

/** `agreement` sends the events of one agreement one after another. */
export const ORDERINGS = ['none', 'agreement'] as const;
export type Ordering = (typeof ORDERINGS)[number];

/** If several states apply, the last of them in this list counts. */
export const ENDPOINT_STATES = ['active', 'failing', 'suspended', 'paused'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

/** `entity`: the entity's secrets sign the requests. `own`: the endpoint's own secrets do. */
export const SECRET_SOURCES = ['entity', 'own'] as const;
