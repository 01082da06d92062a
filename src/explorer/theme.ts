// Loaded in the head and run before anything is drawn: no flash of the other colors.
{
  const chosen = (() => {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null
    }
  })()
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
}
