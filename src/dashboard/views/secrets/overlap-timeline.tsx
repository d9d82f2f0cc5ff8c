/** A timeline of which secret signs when. During the overlap, both do. */
export function OverlapTimeline({ overlap, end }: { overlap: boolean; end: string }) {
  return (
    <figure class="overlap">
      <svg viewBox="0 0 400 84" aria-hidden="true" focusable="false">
        <rect class="overlap-old" x="0" y="8" width={overlap ? 280 : 120} height="24" rx="5" />
        <text x="10" y="24">
          Old secret
        </text>
        <rect class="overlap-new" x="120" y="38" width="280" height="24" rx="5" />
        <text class="overlap-on-new" x="130" y="54">
          New secret
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
          ? `Both secrets sign every request until the old one expires on ${end}.`
          : 'Only the new secret signs from now on. The old one expires immediately.'}
      </figcaption>
    </figure>
  );
}
