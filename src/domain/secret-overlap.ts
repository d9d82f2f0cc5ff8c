/**
 * How long previous secrets stay valid after a rotation. This is a separate file, so that a browser does not load
 * schemas.
 */

export const MAX_OVERLAP_HOURS = 168;
export const DEFAULT_OVERLAP_HOURS = 24;

/** The active signing secrets of an entity. The limit is low, because a receiver must try each of them. */
export const MAX_SECRETS_IN_FORCE = 5;
