type Props = { rotated: 'secret' | 'key'; overlap: boolean; end: string };

/** A timeline that shows which secret or key signs when. During the overlap, both sign. */
export function OverlapTimeline({ rotated, overlap, end }: Props) {
  return (
    <figure class="overlap">
      <svg viewBox="0 0 400 84" aria-hidden="true" focusable="false">
        <rect class="overlap-old" x="0" y="8" width={overlap ? 280 : 120} height="24" rx="5" />
        <text x="10" y="24">
          Old {rotated}
        </text>
        <rect class="overlap-new" x="120" y="38" width="280" height="24" rx="5" />
        <text class="overlap-on-new" x="130" y="54">
          New {rotated}
        </text>
        <path class="overlap-now" d="M120 2v66" />
        <text x="120" y="80" text-anchor="middle">
          now
        </text>
        {overlap ? (
          <>
            <path class="overlap-end" d="M280 2v66" />
            <text x="280" y="80" text-anchor="middle">
              {end}
            </text>
          </>
        ) : null}
      </svg>
      <figcaption class="visually-hidden">
        {overlap
          ? `Both ${rotated}s sign every request until the old one expires on ${end}.`
          : `Only the new ${rotated} signs from now on. The old one expires immediately.`}
      </figcaption>
    </figure>
  );
}
