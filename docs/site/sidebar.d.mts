interface Item {
  text: string
  link: string
  items?: Item[]
}
export function sidebar(): Promise<{ text: string; items: Item[] }[]>
