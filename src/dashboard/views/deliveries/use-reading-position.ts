import { useEffect, useRef } from 'preact/hooks';

const POINTER_RESTS_AFTER_MS = 3_000;

/**
 * Whether somebody is at the list in this moment: has scrolled into it, walks through it by keyboard, or moves the pointer
 * over it and may be about to press. A pointer that only rests there reads nothing.
 */
export function useReading() {
  const list = useRef<HTMLDivElement>(null);
  const pointedAtMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const element = list.current;
    const note = () => {
      pointedAtMs.current = performance.now();
    };
    element?.addEventListener('pointermove', note);
    element?.addEventListener('pointerdown', note);
    return () => {
      element?.removeEventListener('pointermove', note);
      element?.removeEventListener('pointerdown', note);
    };
  }, []);
  const isReading = () => {
    const element = list.current;
    if (element === null) return false;
    const scrolledInto = element.getBoundingClientRect().top < 0;
    const walkedThrough = element.querySelector('tbody :focus-visible') !== null;
    return scrolledInto || walkedThrough || performance.now() - pointedAtMs.current < POINTER_RESTS_AFTER_MS;
  };
  return { list, isReading };
}
