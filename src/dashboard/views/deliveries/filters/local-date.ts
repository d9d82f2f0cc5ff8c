/** A `datetime-local` field uses the viewer's time zone, the API Unix seconds. */

export function toLocal(seconds: string | undefined): string {
  if (seconds === undefined || !/^\d{1,11}$/.test(seconds)) return '';
  const date = new Date(Number(seconds) * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function fromLocal(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? '' : String(Math.floor(ms / 1000));
}
