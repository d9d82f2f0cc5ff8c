const MAX_INLINE_CHARS = 120;

/** Shows a short response inline. A long one, often an HTML error page, is collapsed. */
export function ResponseBody({ text, open = false }: { text: string; open?: boolean }) {
  if (text.length <= MAX_INLINE_CHARS && !text.includes('\n')) return <code class="timeline-response">{text}</code>;
  return (
    <details open={open}>
      <summary>Response body</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre class="timeline-response" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}
