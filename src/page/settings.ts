/** What the server says of itself in the document, because the path of the API is a setting. */
function fromDocument(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="paybell-${name}"]`)?.content ?? '';
}

export const API_PATH = fromDocument('api');
export const VERSION = fromDocument('version');
