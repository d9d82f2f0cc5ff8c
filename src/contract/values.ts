import { z } from 'zod';
import { MAX_NETWORK_ID } from '../domain/networks.ts';

/** Values that responses share. */

export const count = z.int().min(0);

export const date = (what: string) => z.int().meta({ description: `${what}, in Unix seconds.` });

/** The error of a network id in a body. */
export const networkIdRule = `must be a network id: a whole number from 0 to ${MAX_NETWORK_ID}, without quotes`;
