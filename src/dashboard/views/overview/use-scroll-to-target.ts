import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Inputs with which people move on to another part of the page. */
const MOVES = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/**
 * Keeps the element whose id is in the address on the screen, until someone moves on. A browser scrolls only once,
 * which is too early if the element, or content above it, is still loading.
 */
export function useScrollToTarget(element: RefObject<HTMLElement | null>, id: string): void {
  useEffect(() => {
    let isFollowed = false;
    const scroll = () => {
      if (isFollowed) element.current?.scrollIntoView({ block: 'nearest' });
    };
    const follow = () => {
      isFollowed = location.hash === `#${id}`;
      scroll();
    };
    const leave = () => {
      isFollowed = false;
    };
    const resized = new ResizeObserver(scroll);
    resized.observe(document.body);
    addEventListener('hashchange', follow);
    for (const move of MOVES) addEventListener(move, leave, { passive: true });
    follow();
    return () => {
      resized.disconnect();
      removeEventListener('hashchange', follow);
      for (const move of MOVES) removeEventListener(move, leave);
    };
  }, [element, id]);
}
