/** The settings of an endpoint that have a fixed list of values. */

/** `agreement` sends the events of one agreement one after another. */
export const ORDERINGS = ['none', 'agreement'] as const;
export type Ordering = (typeof ORDERINGS)[number];

export const ENDPOINT_STATES = ['active', 'suspended', 'paused'] as const;

/** Whose secrets sign the requests. */
export const SECRET_SOURCES = ['entity', 'own'] as const;
