import { useEffect, useState } from 'preact/hooks';
import { API_PATH } from '../../settings.ts';
import { Icon } from '../icon.tsx';

const SHOWN_MS = 1_600;

/** Loads the text when the button is pressed; null if that failed. */
type LazyText = () => Promise<string | null>;
type CopyProps = { text: string | LazyText; label: string; compact?: boolean };

/** Copies a text and confirms it, visually and to a screen reader. */
export function CopyButton({ text, label, compact = false }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    const value = typeof text === 'string' ? text : await text();
    if (value !== null) setCopied(await writeClipboard(value));
  };
  return (
    <button
      type="button"
      class={compact ? 'button button-icon' : 'button button-small'}
      aria-label={compact ? label : undefined}
      title={compact ? label : undefined}
      onClick={() => void copy()}
    >
      <Icon name={copied ? 'check' : 'copy'} size={14} />
      {compact ? null : copied ? 'Copied' : label}
      <span class="visually-hidden" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </button>
  );
}

/** `navigator.clipboard` exists on secure origins only, and a private network may serve the dashboard over plain HTTP. */
async function writeClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    const written = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (written) return true;
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  // Everything outside an open modal dialog is inert and cannot be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  return copied;
}

export type Command = { method?: string; path: string; body?: unknown };

/** The credentials stay variables, because people often paste a copied command in public places. */
function curlOf({ method = 'GET', path, body }: Command): string {
  const lines = [
    `curl -s ${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}'${location.origin}${API_PATH}${path}'`,
    `  -H "api-key: $PAYBELL_API_KEY" -H "entity-id: $PAYBELL_ENTITY_ID"`,
  ];
  if (body !== undefined) {
    lines.push(`  -H 'content-type: application/json'`, `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(' \\\n');
}

export function Curl(command: Command) {
  return <CodeBlock text={curlOf(command)} label="Copy command" />;
}

export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={label} compact />
    </div>
  );
}
