/** The server writes these into the document, because the path of the API is configurable. */
function readMeta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="paybell-${name}"]`)?.content ?? '';
}

export const PROCESSOR = readMeta('processor');
export const API_PATH = `/api/v1/${PROCESSOR}`;
export const VERSION = readMeta('version');
/** Whether the server simulates payments instead of reading networks. */
export const IS_PRACTICE = readMeta('practice') === 'true';
