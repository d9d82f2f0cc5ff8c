/** The package brings no types of its own. */
declare module 'parse-prometheus-text-format' {
  export default function parse(text: string): unknown;
}
