/** What the agents look up: a file with the price and the stock of each fruit. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const shop: Record<string, { price: number; stock: number }> = JSON.parse(
  readFileSync(new URL('./shop.json', import.meta.url), 'utf8'),
)

export type Task = { question: string }
export const INSTRUCTIONS = 'Look up what is asked, then answer with the number.'
export const Fruit = z.object({ fruit: z.enum(Object.keys(shop)) })
export const Answer = z.object({ number: z.enum(['1', '2', '3', '4', '5']) })

export const price = ({ fruit }: z.infer<typeof Fruit>) => String(shop[fruit].price)
export const stock = ({ fruit }: z.infer<typeof Fruit>) => String(shop[fruit].stock)
