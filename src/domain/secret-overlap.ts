/** How long old secrets may go on signing beside a new one. Apart from the schemas, which a browser should not load. */

export const MAX_OVERLAP_HOURS = 168;
export const DEFAULT_OVERLAP_HOURS = 24;
