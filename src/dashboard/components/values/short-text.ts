/** A shorter text would not become shorter. */
const MAX_WHOLE = 16;
const FIRST = 6;
const LAST = 4;

/** A long name without its middle: people compare the ends of an address. */
export function shortText(text: string): string {
  return text.length <= MAX_WHOLE ? text : `${text.slice(0, FIRST)}…${text.slice(-LAST)}`;
}

/** An exact decimal with separators, such as `1,234.5`. It is not parsed, because a number would round it. */
export function decimalText(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
