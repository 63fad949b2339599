var r={render(){}};export{r as default};
