import { useEffect, useState } from 'preact/hooks';
import { API_PATH } from '../../settings.ts';
import { Icon } from '../icon.tsx';

const SHOWN_MS = 1_600;

/** A text that is only fetched when it is wanted; null when it could not be had. */
type LateText = () => Promise<string | null>;
type CopyProps = { text: string | LateText; label: string; compact?: boolean };

/** Copies a text and says so, to the eye and to a screen reader. */
export function CopyButton({ text, label, compact = false }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    const copying = typeof text === 'string' ? text : await text();
    if (copying !== null) setCopied(await toClipboard(copying));
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

/** The modern way exists on secure origins only, and the page may be served to a private network over plain HTTP. */
async function toClipboard(text: string): Promise<boolean> {
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
  // A dialog in front makes everything outside of it unreachable.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  return copied;
}

type Command = { method?: string; path: string; body?: unknown };

/** The same request for a terminal. The key stays a variable: what is copied is often pasted where others read. */
export function curlOf({ method = 'GET', path, body }: Command): string {
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
  return <CodeBlock text={curlOf(command)} label="Copy the command" />;
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
