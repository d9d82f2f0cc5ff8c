import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Inputs of someone who wants to look at something else. */
const MOVES = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/**
 * Keeps an element on the screen whose id is in the address, until someone moves on. A browser alone scrolls once, and too
 * early if the element, or what is above it, is still being loaded.
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
