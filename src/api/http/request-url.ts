/** The parts of a URL as they were sent, without building a URL object for every request. */

/** What stands between the first `?` and a `#`. */
export function searchOf(url: string): string {
  const question = url.indexOf('?');
  if (question < 0) return '';
  const hash = url.indexOf('#', question);
  return hash < 0 ? url.slice(question + 1) : url.slice(question + 1, hash);
}

/** What stands between the host and a `?` or a `#`. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  if (start < 0) return '/';
  const question = url.indexOf('?', start);
  const hash = url.indexOf('#', start);
  if (question < 0 && hash < 0) return url.slice(start);
  return url.slice(start, hash < 0 || (question >= 0 && question < hash) ? question : hash);
}
