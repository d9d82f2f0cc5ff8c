import { useEffect, useRef } from 'preact/hooks';

const POINTER_IDLE_MS = 3_000;

/** Whether someone is reading the list: it is scrolled, a row has the focus, or the pointer moved over it within seconds. */
export function useIsReading() {
  const list = useRef<HTMLDivElement>(null);
  const pointedAtMs = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const element = list.current;
    const notePointer = () => {
      pointedAtMs.current = performance.now();
    };
    element?.addEventListener('pointermove', notePointer);
    element?.addEventListener('pointerdown', notePointer);
    return () => {
      element?.removeEventListener('pointermove', notePointer);
      element?.removeEventListener('pointerdown', notePointer);
    };
  }, []);
  const isReading = () => {
    const element = list.current;
    if (element === null) return false;
    const hasScrolled = element.getBoundingClientRect().top < 0;
    const hasRowFocus = element.querySelector('tbody :focus-visible') !== null;
    return hasScrolled || hasRowFocus || performance.now() - pointedAtMs.current < POINTER_IDLE_MS;
  };
  return { list, isReading };
}
