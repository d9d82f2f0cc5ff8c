const number = new Intl.NumberFormat();

/** A number with separators. A dash stands for a number that is not known. */
export function countText(count: number | null | undefined): string {
  return count === null || count === undefined ? '–' : number.format(count);
}

/** A number with its noun, such as `1,204 deliveries`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : many}`;
}
