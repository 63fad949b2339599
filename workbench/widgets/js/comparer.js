import "./panel.js";
export default { render() {} };
