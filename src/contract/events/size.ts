/** The largest body of one event. */
export const MAX_EVENT_BYTES = 256 * 1024;
