/** The settings of an endpoint that have a fixed list of values. */

/** `agreement` sends the events of one agreement one after another. */
export const ORDERINGS = ['none', 'agreement'] as const;
export type Ordering = (typeof ORDERINGS)[number];

/** If several apply, the last one in this list is the state. */
export const ENDPOINT_STATES = ['active', 'failing', 'suspended', 'paused'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

/** Whose secrets sign the requests. */
export const SECRET_SOURCES = ['entity', 'own'] as const;
