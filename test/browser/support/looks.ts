import type { Look } from './tab.ts';

const WIDTHS = [390, 1_024, 1_440, 1_920] as const;
const THEMES = ['light', 'dark'] as const;

const heightOf = (width: number) => (width < 500 ? 844 : 1_200);

/**
 * What a view is looked at in, by name: both themes, and the narrowest and a common width. With `EVERY_LOOK` set it is each
 * theme in each of four widths, which takes four times as long.
 */
export const LOOKS: Readonly<Record<string, Required<Pick<Look, 'theme' | 'width' | 'height'>>>> = Object.fromEntries(
  WIDTHS.flatMap((width) => THEMES.map((theme) => ({ theme, width, height: heightOf(width) })))
    .filter(({ theme, width }) => process.env.EVERY_LOOK || width === (theme === 'light' ? 390 : 1_440))
    .map((look) => [`${look.theme}, ${look.width} pixels wide`, look]),
);
