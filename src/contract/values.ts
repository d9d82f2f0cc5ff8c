import { z } from 'zod';

/** Values that responses share. */

export const count = z.int().min(0);

export const date = (what: string) => z.int().meta({ description: `${what}, in Unix seconds.` });
