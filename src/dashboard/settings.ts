/** What the server says of itself in the document, because the path of the API is a setting. */
function fromDocument(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="paybell-${name}"]`)?.content ?? '';
}

export const PROCESSOR = fromDocument('processor');
export const API_PATH = `/api/v1/${PROCESSOR}`;
export const VERSION = fromDocument('version');
