/** The receivers. */
export const URLS: readonly string[] = Array.from({ length: 8 }, (_, index) => `https://r${index}.example.com/hook`);

/** These endpoints always have a webhook, so that they keep their settings. Only they keep events in order, some from the start. */
export const LASTING_URLS = URLS.slice(0, 6);
export const FIRST_ORDERED_URLS = URLS.slice(0, 5);
