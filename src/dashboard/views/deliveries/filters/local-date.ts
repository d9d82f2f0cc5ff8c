/** The browser's field for a moment speaks in the viewer's zone, the API in Unix seconds. */

export function toLocal(seconds: string | undefined): string {
  if (seconds === undefined || !/^\d{1,11}$/.test(seconds)) return '';
  const date = new Date(Number(seconds) * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function fromLocal(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? '' : String(Math.floor(ms / 1000));
}
