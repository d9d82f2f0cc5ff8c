/** How long previous secrets stay valid after a rotation. In its own file, so that a browser does not load schemas. */

export const MAX_OVERLAP_HOURS = 168;
export const DEFAULT_OVERLAP_HOURS = 24;

/** The active signing secrets of an entity. A receiver has to try each of them, so there are never many. */
export const MAX_SECRETS_IN_FORCE = 5;
