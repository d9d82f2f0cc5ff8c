import { useMemo } from 'preact/hooks';
import { qrMatrix } from './qr-matrix.ts';

/** Light modules around a code, so that scanners find its edge. */
const QUIET = 4;

/** A text to scan. It is dark on light in both themes: not every scanner reads the opposite. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = useMemo(() => qrMatrix(text), [text]);
  if (code === null) return null;
  const size = code.length + 2 * QUIET;
  const path = code.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : [])),
  );
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path.join('')} fill="#000" />
    </svg>
  );
}
